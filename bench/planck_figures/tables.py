"""Results as Markdown, and the block for them in docs/explanation/planck.md."""
import os
import shutil

BLOCK = "bench/planck"


def table(heads, rows):
  lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
  return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


def replace_block(page, text):
  """Returns the page with new text between the comments `begin bench/planck` and `end bench/planck`."""
  begin, end = f"<!-- begin {BLOCK} -->\n", f"<!-- end {BLOCK} -->\n"
  before, rest = page.split(begin)
  _, after = rest.split(end)
  return before + begin + text + end + after


def replace_docs(root, results, parts):
  """Replaces the block in docs/explanation/planck.md with the tables of the parts that have been run, and copies the
  plots to the page's folder."""
  folder = os.path.join(root, "docs", "explanation", "planck")
  os.makedirs(folder, exist_ok=True)
  for name in os.listdir(results):
    if name.endswith(".svg"):
      shutil.copy(os.path.join(results, name), folder)
  tables = []
  for path in (os.path.join(results, f"{part}.md") for part in parts):
    if os.path.exists(path):
      with open(path) as file:
        tables.append(file.read())
  with open(folder + ".md") as file:
    page = file.read()
  with open(folder + ".md", "w") as file:
    file.write(replace_block(page, "\n".join(tables)))
