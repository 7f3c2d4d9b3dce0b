"""Hardware that the reader lacks, and schedules.

Three networks are imitated, each for another question:

| Name | Imitates | Carries data | Question |
|---|---|---|---|
| `Wire` | the time of a connection | no | how long does a message take? |
| `Links` | devices and links between them | yes, counted | who sends how much to whom? |
| `Cable` | a slow cable under an exchange | yes, with a wait | what is it worth to hide it? |

`Wire` and `Links` stand here. What a framework adds to `Links`, and `Cable`, a store for
MXNet's `Trainer` and a hook for PyTorch's DDP, stand with each framework.
"""
