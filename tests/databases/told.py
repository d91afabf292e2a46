"""A generator with chosen answers, for tests of random variations."""


class Told:
    """A generator that returns given answers in order, and records the arguments of each call."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def integers(self, *arguments):
        self.asked.append(arguments)
        return self.answers.pop(0)

    uniform = integers
