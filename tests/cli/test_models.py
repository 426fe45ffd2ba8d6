"""`targcn models`."""

from command_line import call


def test_the_defaults_shown_are_those_that_training_takes() -> None:
    shown = call("models", "targcn").stdout.splitlines()
    [neighbors] = [line.split()[1] for line in shown if line.startswith("--neighbors ")]
    assert neighbors == "50"


def test_models_lists_models_and_their_settings() -> None:
    assert "decayed-copy" in call("models").stdout
    assert "--scale" in call("models", "decayed-copy").stdout
