#!/usr/bin/env python3
"""Checks that the output of deploy/sbom is valid CycloneDX and complete: it must list each shipped jar, and each
package in the lock file and in the images. Skipped (77) if the Java modules are not built."""
import importlib.machinery
import importlib.util
import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("sbom", str(ROOT / "deploy/sbom"))
sbom = importlib.util.module_from_spec(importlib.util.spec_from_loader("sbom", loader))
loader.exec_module(sbom)
PURL = re.compile(r"pkg:(maven|npm|deb/debian|docker)/[^\s@]+@[^\s@?]+(\?[\w.=&%-]+)?")


def read(name):
    return json.loads((sbom.OUT / f"{name}.cdx.json").read_text())


class SbomTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        subprocess.run([ROOT / "deploy/sbom"], check=True)

    def test_structure(self):
        for name in ("java", "dashboard", "images"):
            content = read(name)
            self.assertEqual((content["bomFormat"], content["specVersion"], content["version"]), ("CycloneDX", "1.6", 1))
            self.assertTrue(content["metadata"]["component"]["name"].startswith("tapline"))
            references = [content["metadata"]["component"]["bom-ref"]]
            for component in content["components"]:
                self.assertTrue(component["type"] and component["name"] and component["version"], component)
                self.assertRegex(component["purl"], PURL)
                references.append(component["bom-ref"])
            self.assertEqual(len(references), len(set(references)), f"{name}: a bom-ref twice")
            for node in content["dependencies"]:
                self.assertEqual({node["ref"], *node.get("dependsOn", [])} - set(references), set(), name)

    def test_every_jar(self):
        known = {f"{component['name']}-{component['version']}" for component in read("java")["components"]}
        jars = {jar.stem for folder in sbom.FOLDERS for jar in (sbom.JAVA / folder).glob("*.jar")}
        self.assertGreater(len(jars), 100)
        self.assertEqual(jars - known, set())

    def test_every_npm_package(self):
        packages = json.loads((ROOT / "dashboard/package-lock.json").read_text())["packages"]
        components = read("dashboard")["components"]
        listed = {f"{path.rpartition('node_modules/')[2]}@{package['version']}" for path, package in packages.items() if path}
        self.assertEqual({component["bom-ref"] for component in components}, listed)
        wanted = json.loads((ROOT / "dashboard/package.json").read_text())["dependencies"]
        required = {component["name"] for component in components if component["scope"] == "required"}
        self.assertEqual(set(wanted) - required, set())
        self.assertNotIn("vite", required)

    def test_every_package_of_an_image(self):
        packages = {}
        for component in read("images")["components"]:
            for image in (entry["value"] for entry in component.get("properties", []) if entry["name"] == "tapline:image"):
                packages.setdefault(image, set()).add(component["name"])
        present, names = sbom.images()
        for image in present:
            run = ["docker", "run", "--rm", "--network", "none", "--entrypoint", "cat", f"tapline/{image}:{sbom.version()}"]
            status = subprocess.run([*run, "/var/lib/dpkg/status"], capture_output=True, text=True, check=True).stdout
            stanzas = [stanza for stanza in status.split("\n\n") if "\nStatus: install ok installed\n" in stanza]
            installed = {stanza.partition("\n")[0].removeprefix("Package: ") for stanza in stanzas}
            self.assertEqual(packages[image], installed, image)
        if not present:
            self.assertIn("openjdk-17-jdk-headless", packages["host"])
        self.assertEqual([name for name in names if not sbom.named_packages(name)], [])


if not (sbom.JAVA / "lib").is_dir():
    print(f"SKIPPED: there is no {sbom.JAVA}/lib")
    sys.exit(77)
unittest.main()
