"""Hardware that the reader lacks, and schedules: links, hosts, pipelines."""
