package io.tapline.control.testbed;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Runs {@code testbed/supervise.py}, which starts daemons and restarts those that have exited, for
 * any reason. It is a process in a separate session, since it outlives the process that created the
 * testbed.
 */
final class Supervisor {
  static final String NAME = "supervisor";

  private final Path home;
  private final Path folder;

  Supervisor(Path home, Path folder) {
    this.home = home;
    this.folder = folder;
  }

  /** Starts the daemons; takes over those that are already running. */
  void start(List<Daemon> daemons) throws TestbedException {
    try {
      Files.writeString(
          folder.resolve("daemons.json"), new ObjectMapper().writeValueAsString(daemons) + "\n");
      String script = home.resolve("testbed/supervise.py").toString();
      ProcessBuilder builder =
          new ProcessBuilder("setsid", "python3", script, folder + "/")
              .redirectInput(Path.of("/dev/null").toFile())
              .redirectErrorStream(true)
              .redirectOutput(
                  ProcessBuilder.Redirect.appendTo(folder.resolve(NAME + ".log").toFile()));
      builder.environment().putAll(Daemons.environment(folder));
      builder.environment().merge("PATH", "/usr/sbin:/sbin", (path, more) -> path + ":" + more);
      builder.start();
    } catch (IOException e) {
      throw new TestbedException("can't start the supervisor: " + e.getMessage(), e);
    }
  }
}
