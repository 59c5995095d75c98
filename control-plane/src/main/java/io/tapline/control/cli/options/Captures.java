package io.tapline.control.cli.options;

import io.tapline.control.Tap;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Rejects capture files that a query could not read, before anything is started for it. The monitor
 * checks them, since a single place should define the capture format.
 */
public final class Captures {
  private Captures() {}

  /**
   * Checks the files and the taps, including those on interfaces.
   *
   * @throws CommandException with the monitor's message, except for wrong usage, which causes a
   *     usage error with that message
   */
  public static void check(
      Installation installation, List<Path> files, List<Tap> taps, Console console)
      throws InterruptedException {
    if (files.isEmpty() && taps.isEmpty()) {
      return;
    }
    List<String> command = new ArrayList<>(List.of(installation.requireMonitor().toString()));
    command.addAll(List.of("--check-captures", "--status", "json"));
    files.forEach(file -> command.add("--pcap=" + file));
    taps.forEach(tap -> command.add("--tap=" + tap.text()));
    taps.stream().filter(tap -> !tap.file()).map(Tap::source).forEach(NetworkInterfaces::check);
    try {
      Process monitor =
          new ProcessBuilder(command).redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
      MonitorMessages messages = MonitorMessages.read(monitor.getErrorStream(), console);
      messages.requireSuccess(monitor.waitFor());
    } catch (IOException e) {
      throw new CommandException("can't run " + command.get(0) + ": " + e.getMessage(), e);
    }
  }
}
