"""The README.md of a saved model, filled in from its configuration."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["card"]

#: What a model of a class is for: in Python, and as words of a command.
USES = {"LanguageModel": ('rows = model.generate(b"To be", 200)', 'generate {folder} "To be"')}
USE = ("answers = model.predict(x)", "predict {folder} series.csv")
FOLDER = "path/to/this/folder"


def card(config: Mapping[str, Any]) -> str:
    """A model card: what it is, what it takes, how well it does, how to run it.

    Args:
        config: What config.json holds.

    Returns:
        Markdown.
    """
    backbone = config["arguments"]["backbone"]
    call, command = USES.get(config["model"], USE)
    lines = [
        "---",
        "library_name: mrconv",
        "tags: [mrconv, long-convolution, sequence]",
        "---",
        "",
        f"# {config['model']} ({config['form']} form)",
        "",
        f"A long-convolution model of {backbone['depth']} blocks and {backbone['channels']} "
        f"channels, made with mrconv {config['versions']['mrconv']}.",
        "",
        *_input_section(config),
        *_metrics_section(config["metrics"]),
        *_made_section(config["made"]),
        "## Use",
        "",
        "```python",
        "import mrconv",
        "",
        f'model = mrconv.load("{FOLDER}")',
        call,
        "```",
        "",
        "```",
        f"mrconv {command.format(folder=FOLDER)}",
        f"mrconv verify {FOLDER}",
        "```",
        "",
        f"Layers: `{backbone['mixer']}`.",
        "",
    ]
    return "\n".join(lines)


def _input_section(config: Mapping[str, Any]) -> list[str]:
    contract, labels = config["input"], config["labels"]
    lines = ["## Input", ""]
    if contract is None:
        backbone = config["arguments"]["backbone"]
        what = "tokens (batch, length)" if backbone["tokens"] else "values (batch, length, "
        lines.append(f"{what}{'' if backbone['tokens'] else str(backbone['features']) + ')'}.")
    else:
        given = {key: value for key, value in contract.items() if value is not None}
        lines += [f"- {key}: {value}" for key, value in given.items()]
    if labels:
        lines += ["", f"Labels: {', '.join(labels)}."]
    return [*lines, ""]


def _metrics_section(metrics: Mapping[str, float]) -> list[str]:
    if not metrics:
        return []
    rows = [f"| {name.replace('_', ' ')} | {value:.4g} |" for name, value in metrics.items()]
    return ["## Measured", "", "| what | value |", "|---|---|", *rows, ""]


def _made_section(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    if not steps:
        return []
    return ["## Made", "", *(f"{i}. {_told(step)}" for i, step in enumerate(steps, 1)), ""]


def _told(step: Mapping[str, Any]) -> str:
    settings = (f"{name} {value}" for name, value in step.items() if name != "step")
    return ": ".join(part for part in (step["step"], ", ".join(settings)) if part)
