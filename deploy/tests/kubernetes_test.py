#!/usr/bin/env python3
"""Checks the Kubernetes manifests against the published schemas, and compares their images, commands, CPU and memory
limits, capabilities and Secrets with the compose file.

Installs kubernetes-validate, which contains the schemas, once in build/kubernetes. Skipped (77) if that fails."""
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build/kubernetes"
VALIDATOR = "kubernetes-validate==1.37.0"
KUBERNETES = "1.32"
# {volume with one host's secrets in the compose file: Secret of all hosts in the manifests}
HOSTS = {"secrets-monitor-1:/secrets:ro": "secrets-monitor:/secrets", "secrets-web-1:/secrets:ro": "secrets-multilog:/secrets"}
MIB = {"Mi": 1, "Gi": 1024, "m": 1, "g": 1024}


def enter_environment():
    """Re-executes the test with an interpreter that has the validator."""
    python = FOLDER / "bin/python"
    if not (FOLDER / "ready").exists():
        try:
            subprocess.run(["/usr/bin/python3", "-m", "venv", FOLDER], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", VALIDATOR], check=True, timeout=120)
        except (OSError, subprocess.SubprocessError) as e:
            print(f"SKIPPED: {VALIDATOR} can't be installed: {e}")
            sys.exit(77)
        (FOLDER / "ready").touch()
    if Path(sys.prefix) != FOLDER:
        os.execv(python, [python, __file__])


def require(condition, message):
    if not condition:
        sys.exit(f"error: {message}")


def manifests(yaml):
    for file in sorted((ROOT / "deploy/kubernetes").glob("*.yaml")):
        for document in yaml.safe_load_all(file.read_text()):
            yield file.name, document


def mib(text):
    number, unit = re.fullmatch(r"(\d+)(\w+)", text).groups()
    return int(number) * MIB[unit]


def pod(document):
    return document["spec"]["template"]["spec"]


def secrets_of(document, container):
    """Returns a container's Secrets and mount paths in the compose file's notation."""
    secret = {volume["name"]: volume["secret"]["secretName"] for volume in pod(document).get("volumes", []) if "secret" in volume}
    return {f"{secret[mount['name']]}:{mount['mountPath']}" for mount in container.get("volumeMounts", []) if mount["name"] in secret}


def compare(name, container, service, version):
    """Compares a container with the corresponding service of the compose file."""
    image = service["image"].replace("${TAPLINE_VERSION}", version)
    require(container["image"] == image, f"{name}: {container['image']}, not {image}")
    # The pods of all hosts share a Secret, whose files are named after the hosts.
    own = [word.replace("$(NAME)", "own") for word in container["args"] if word not in ("--multilog", "$(ADDRESS):7400")]
    require(own == [str(word) for word in service["command"]], f"{name}: {own}, not {service['command']}")
    limit = container["resources"]["limits"]["memory"]
    require(mib(limit) == mib(service["mem_limit"]), f"{name}: {limit}, not {service['mem_limit']}")
    processors = re.sub(r"\$\{CPUS:-(\d+)\}", r"\1", str(service["cpus"]))
    require(str(container["resources"]["limits"].get("cpu")) == processors, f"{name}: {container['resources']['limits']}, not {processors} processors")
    require(container["securityContext"].get("readOnlyRootFilesystem") is True, f"{name}: its root file system is writable")
    rights = container["securityContext"]["capabilities"]
    require(rights["drop"] == ["ALL"] and rights.get("add", []) == service.get("cap_add", []), f"{name}: capabilities {rights}")
    require(container["securityContext"]["allowPrivilegeEscalation"] is False, f"{name}: may gain privileges")
    require("readinessProbe" in container, f"{name}: there is no readiness probe")
    wanted = [service["environment"].get(key) for key in ("JAVA_MEMORY", "TASK_HEAP")] if "environment" in service else [None, None]
    given = {variable["name"]: variable.get("value") for variable in container.get("env", [])}
    require([given.get("JAVA_MEMORY"), given.get("TASK_HEAP")] == wanted, f"{name}: Java memory {given}, not {wanted}")
    for key in ("TAPLINE_LOG", "TAPLINE_LOG_ALL"):
        require(given.get(key) == service.get("environment", {}).get(key), f"{name}: {key}={given.get(key)}")
    # The control plane must know the number of slots, because queries beyond it would wait forever.
    for key, usual in {"SLOTS": "4", "TASK_MANAGERS": "2"}.items():
        require(key not in service.get("environment", {}) or given.get(key) == usual, f"{name}: {key}={given.get(key)}, not {usual}")


def main():
    import kubernetes_validate
    import yaml

    everything = list(manifests(yaml))
    for file, document in everything:
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as e:
            sys.exit(f"error: {file}, {document['kind']} {document['metadata']['name']}: {e.message} at {list(e.path)}")

    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    version = subprocess.run([ROOT / "deploy/version"], check=True, capture_output=True, text=True).stdout.strip()
    expected_service = {"zookeeper": "zookeeper-1", "kafka": "kafka-1", "jobmanager": "jobmanager-1", "taskmanager": "taskmanager-1", "redis": "redis",
              "control": "control-1", "front": "front", "agent": "monitor-1", "multilog": "web-1-multilog"}
    seen, made = set(), set()
    for file, document in everything:
        if document["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            for container in pod(document)["containers"]:
                service = services[expected_service[container["name"]]]
                compare(container["name"], container, service, version)
                given = secrets_of(document, container)
                wanted = {HOSTS.get(volume, volume).removesuffix(":ro") for volume in service.get("volumes", []) if volume.startswith("secrets-")}
                require(given == wanted, f"{container['name']}: secrets {given}, not {wanted}")
                made.update(secret.split(":")[0].removeprefix("secrets-") for secret in given)
                seen.add(container["name"])
    require(seen == set(expected_service), f"these are missing: {set(expected_service) - seen}")
    script = (ROOT / "deploy/kubernetes/secrets").read_text()
    folders = set(re.search(r"for folder in (.*); do put", script)[1].split()) | set(re.search(r"for kind in (.*); do", script)[1].split())
    require(made <= folders, f"deploy/kubernetes/secrets does not make {made - folders}")
    labels = {document["metadata"].get("labels", {}).get("app") for _, document in everything}
    for file, document in everything:
        selector = document["spec"].get("podSelector", {}).get("matchLabels") if document["kind"] == "NetworkPolicy" else None
        require(not selector or selector["app"] in labels, f"{file}: no resource is named {selector}")
    print(f"{len(everything)} manifests")


enter_environment()
main()
