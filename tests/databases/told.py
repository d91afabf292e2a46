"""A random generator with given answers, for tests of random variations."""


class Told:
    """Generator that returns given answers in order and records the arguments of each call."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def integers(self, *arguments):
        self.asked.append(arguments)
        return self.answers.pop(0)

    uniform = integers
