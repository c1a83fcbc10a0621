"""The scripted writers behind extraction, reflection, digest and distillation; they are not language models."""
