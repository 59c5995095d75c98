package io.tapline.control.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TemporaryFolderTest {
  /** A number above Linux's maximum process ID. */
  private static final long NO_PROCESS = 1L << 23;

  @TempDir Path parent;

  private Path folderOf(long pid, long start, long namespace) throws IOException {
    Path folder = parent.resolve("tapline-%d-%d-%d-1".formatted(pid, start, namespace));
    Files.createDirectories(folder.resolve("deep/inside"));
    Files.writeString(folder.resolve("deep/file"), "left behind");
    return folder;
  }

  private static long self() {
    return ProcessHandle.current().pid();
  }

  private static long startOfSelf() {
    return TemporaryFolder.startTicks(self()).orElseThrow();
  }

  @Test
  void removesFoldersOfDeadProcesses() throws Exception {
    Path dead = folderOf(NO_PROCESS, 1, TemporaryFolder.processNamespace());
    Path earlierOwnerOfThisId =
        folderOf(self(), startOfSelf() - 1, TemporaryFolder.processNamespace());
    TemporaryFolder.create(parent).close();
    assertThat(dead).doesNotExist();
    assertThat(earlierOwnerOfThisId).doesNotExist();
  }

  @Test
  void keepsFoldersThatMayBeInUse() throws Exception {
    Path living = folderOf(self(), startOfSelf(), TemporaryFolder.processNamespace());
    Path ofAnotherContainer = folderOf(NO_PROCESS, 1, TemporaryFolder.processNamespace() + 1);
    Path notOurs = Files.createDirectory(parent.resolve("tapline-notes"));
    TemporaryFolder.create(parent).close();
    assertThat(living).exists();
    assertThat(ofAnotherContainer).exists();
    assertThat(notOurs).exists();
  }

  @Test
  void isRemovedWithItsContents() throws Exception {
    TemporaryFolder folder = TemporaryFolder.create(parent);
    Files.createDirectories(folder.path().resolve("a/b"));
    Files.writeString(folder.path().resolve("a/b/file"), "text");
    folder.close();
    folder.close();
    assertThat(parent).isEmptyDirectory();
  }

  /** Tests a link that another user put into the folder: it is removed, not followed. */
  @Test
  void doesNotFollowLinks(@TempDir Path elsewhere) throws Exception {
    Path precious = Files.writeString(elsewhere.resolve("precious"), "keep");
    TemporaryFolder folder = TemporaryFolder.create(parent);
    Files.createSymbolicLink(folder.path().resolve("link"), elsewhere);
    folder.close();
    assertThat(precious).exists();
    assertThat(parent).isEmptyDirectory();
  }

  @Test
  void aMissingParentIsNamed() {
    assertThatThrownBy(() -> TemporaryFolder.create(parent.resolve("missing")))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("missing")
        .hasMessageContaining("TMPDIR");
  }
}
