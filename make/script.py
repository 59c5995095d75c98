"""Loads programs that have no .py suffix, for their tests."""

import importlib.machinery
import importlib.util


def load(path):
    """Returns the program at `path` as a module, without running its main part."""
    loader = importlib.machinery.SourceFileLoader(path.name, str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(path.name, loader))
    loader.exec_module(module)
    return module
