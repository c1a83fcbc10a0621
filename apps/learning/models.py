"""Imports the models of learning for Django; each feature's folder defines its own models."""

from apps.learning.contradictions.models import Contradiction, ContradictionScan
from apps.learning.digest.models import DigestClaim, DigestRun
from apps.learning.distillation.models import TierClock, TierRun
from apps.learning.extraction.models import Extraction, ExtractionClaim
from apps.learning.lessons.models import EditCluster, EditClusterCase, Example, LearningVersion, Lesson, LessonCase
from apps.learning.reflection.models import Reflection

__all__ = [
    "Contradiction",
    "ContradictionScan",
    "DigestClaim",
    "DigestRun",
    "EditCluster",
    "EditClusterCase",
    "Example",
    "Extraction",
    "ExtractionClaim",
    "LearningVersion",
    "Lesson",
    "LessonCase",
    "Reflection",
    "TierClock",
    "TierRun",
]
