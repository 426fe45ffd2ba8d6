"""The one error a user can cause: a sentence saying what is wrong, where, and what to do.

Everything else that escapes is a fault of ours. The command line turns an InputError into
exit code 2 and prints the sentence alone; a Python caller catches it as a ValueError.
"""


class InputError(ValueError):
    """Input that cannot be used; the message is one sentence meant for the user."""
