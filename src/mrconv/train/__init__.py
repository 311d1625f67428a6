"""Training: parameter groups, recipes, and the loop. Lightning is imported where it is used."""

from .dry_run import DryRun, dry_run
from .evaluation import evaluate
from .loop import TrainingInterrupted, TrainingResult, train
from .matching import MatchingRecipe, read_matching_recipe
from .optim import param_groups
from .progress import EpochRow, Progress, SilentProgress, TextProgress
from .recipe import Recipe, read_recipe, recipe_names, recipe_scales

__all__ = [
    "DryRun",
    "EpochRow",
    "MatchingRecipe",
    "Progress",
    "Recipe",
    "SilentProgress",
    "TextProgress",
    "TrainingInterrupted",
    "TrainingResult",
    "dry_run",
    "evaluate",
    "param_groups",
    "read_matching_recipe",
    "read_recipe",
    "recipe_names",
    "recipe_scales",
    "train",
]
