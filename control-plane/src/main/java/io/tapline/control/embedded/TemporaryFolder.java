package io.tapline.control.embedded;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A folder for this process's files: {@code $TMPDIR/tapline-<pid>-<start>-<namespace>-<random>}.
 *
 * <p>A killed process can't remove its folder. The next process does, since the name shows whether
 * the owner has ended. The name contains the start of the process, in clock ticks since boot,
 * because process IDs are reused (a time of day would move with the clock), and the process
 * namespace, because another container's process may have the same ID.
 */
final class TemporaryFolder implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TemporaryFolder.class);
  private static final Pattern NAME = Pattern.compile("tapline-(\\d+)-(\\d+)-(\\d+)-\\d+");

  static final Path MEMORY = Path.of("/dev/shm");

  /** Minimum free space; an idle broker takes a tenth of it. */
  private static final long MIN_FREE_BYTES = 32L << 20;

  /**
   * Number of attempts to remove the folder, since threads that are about to end may still create a
   * file.
   */
  private static final int CLOSE_ATTEMPTS = 5;

  private final Path path;

  private TemporaryFolder(Path path) {
    this.path = path;
  }

  /** Creates a folder below {@code TMPDIR}, after removing those of processes that have ended. */
  static TemporaryFolder create() throws IOException {
    return create(parent());
  }

  static TemporaryFolder create(Path parent) throws IOException {
    if (!Files.isDirectory(parent)) {
      throw new IOException(
          "no folder for temporary files at " + parent + ": set TMPDIR to one that exists");
    } else if (!Files.isWritable(parent)) {
      throw new IOException(
          "no permission to write temporary files in " + parent + ": set TMPDIR to another folder");
    }
    sweep(parent);
    requireRoom(parent);
    long self = ProcessHandle.current().pid();
    String prefix =
        "tapline-%d-%d-%d-".formatted(self, startTicks(self).orElseThrow(), processNamespace());
    return new TemporaryFolder(Files.createTempDirectory(parent, prefix));
  }

  /**
   * Creates a folder in memory, where syncing takes no time, for a few MiB that are synced often.
   * Returns empty if this host has no writable tmpfs with enough free space.
   */
  static Optional<TemporaryFolder> createInMemory() {
    try {
      boolean usable =
          Files.isWritable(MEMORY)
              && Files.getFileStore(MEMORY).type().equals("tmpfs")
              && Files.getFileStore(MEMORY).getUsableSpace() >= MIN_FREE_BYTES;
      return usable ? Optional.of(create(MEMORY)) : Optional.empty();
    } catch (IOException e) {
      LOG.info("can't create a temporary folder in {}: {}", MEMORY, e.toString());
      return Optional.empty();
    }
  }

  static Path parent() {
    String configured = System.getenv("TMPDIR");
    return Path.of(configured == null || configured.isEmpty() ? "/tmp" : configured);
  }

  private static void requireRoom(Path parent) throws IOException {
    // Files.getFileStore fails in a chroot whose root is not a mount point.
    long free = parent.toFile().getUsableSpace();
    if (free < MIN_FREE_BYTES) {
      throw new IOException(
          "%s has %d MiB left, but the embedded broker needs at least %d: free some space, or set TMPDIR to another disk"
              .formatted(parent, free >> 20, MIN_FREE_BYTES >> 20));
    }
  }

  Path path() {
    return path;
  }

  /** Removes the folders of processes that have ended; ignores those that can't be removed. */
  private static void sweep(Path parent) throws IOException {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, "tapline-*")) {
      for (Path folder : folders) {
        if (isAbandoned(folder.getFileName().toString())) {
          try {
            delete(folder);
          } catch (IOException e) {
            LOG.warn("can't remove {}, whose process is gone: {}", folder, e.toString());
          }
        }
      }
    }
  }

  private static boolean isAbandoned(String folder) throws IOException {
    Matcher name = NAME.matcher(folder);
    if (!name.matches() || Long.parseLong(name.group(3)) != processNamespace()) {
      return false;
    }
    Optional<Long> start = startTicks(Long.parseLong(name.group(1)));
    return start.isEmpty() || start.get() != Long.parseLong(name.group(2));
  }

  /** Returns the start time of a process in clock ticks since boot: field 22 of stat in proc(5). */
  static Optional<Long> startTicks(long pid) {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(pid), "stat"));
      String[] afterName = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
      return Optional.of(Long.parseLong(afterName[19]));
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  static long processNamespace() throws IOException {
    String link = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
    return Long.parseLong(link.replaceAll("\\D", ""));
  }

  private static void delete(Path folder) throws IOException {
    Files.walkFileTree(
        folder,
        new SimpleFileVisitor<>() {
          @Override
          public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
              throws IOException {
            Files.deleteIfExists(file);
            return FileVisitResult.CONTINUE;
          }

          @Override
          public FileVisitResult visitFileFailed(Path file, IOException e) throws IOException {
            if (e instanceof NoSuchFileException) {
              // Another process is also sweeping, or a server is removing its own folder.
              return FileVisitResult.CONTINUE;
            }
            throw e;
          }

          @Override
          public FileVisitResult postVisitDirectory(Path visited, IOException e)
              throws IOException {
            Files.deleteIfExists(visited);
            return FileVisitResult.CONTINUE;
          }
        });
  }

  @Override
  public void close() throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        delete(path);
        return;
      } catch (IOException stillWrittenTo) {
        if (attempt == CLOSE_ATTEMPTS) {
          throw stillWrittenTo;
        }
        pause();
      }
    }
  }

  private static void pause() {
    try {
      Thread.sleep(100);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
