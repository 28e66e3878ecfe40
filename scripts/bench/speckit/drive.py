"""Carries out a workflow with the engine of github/spec-kit, from a checkout:

    drive.py CHECKOUT PROJECT run WORKFLOW.yml | resume

The engine and its shell step are loaded beside their packages, whose initialisers import the
command line of spec-kit and all that it needs; the engine itself needs PyYAML alone.
"""

import pathlib
import sys
import types

source = pathlib.Path(sys.argv[1]) / "src" / "specify_cli"
for name, folder in (("specify_cli", source), ("specify_cli.workflows", source / "workflows")):
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package
sys.modules["specify_cli.workflows"].STEP_REGISTRY = {}

from specify_cli.workflows.engine import WorkflowDefinition, WorkflowEngine  # noqa: E402
from specify_cli.workflows.steps.shell import ShellStep  # noqa: E402

sys.modules["specify_cli.workflows"].STEP_REGISTRY["shell"] = ShellStep()

engine = WorkflowEngine(pathlib.Path(sys.argv[2]))
if sys.argv[3] == "run":
    definition = WorkflowDefinition.from_yaml(pathlib.Path(sys.argv[4]))
    wrong = engine.validate(definition)
    if wrong:
        sys.exit("\n".join(wrong))
    state = engine.execute(definition, run_id="bench")
else:
    try:
        state = engine.resume("bench")
    except ValueError as refused:
        sys.exit(str(refused))
print(state.status.value)
