"""Plans as plain data, the catalogues their names come from, and the presets."""

from weft.plans.part import Part
from weft.plans.plan import Plan
from weft.plans.presets import names, plan

__all__ = ["Part", "Plan", "names", "plan"]
