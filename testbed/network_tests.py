"""Base class for tests that need network namespaces."""
import os
import shutil
import subprocess
import unittest

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
TOOLS = ("ip", "tc", "ethtool", "tcpdump", "unshare")


class NetworkTest(unittest.TestCase):
  """Skips the tests, with a reason, if network namespaces are not available or tools are missing."""

  @classmethod
  def setUpClass(cls):
    if os.geteuid() != 0:
      raise unittest.SkipTest("network namespaces need root")
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=PATH)]
    if missing:
      raise unittest.SkipTest(f"missing: {', '.join(missing)}")
    if subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], check=False).returncode != 0:
      raise unittest.SkipTest("no network namespaces here")
