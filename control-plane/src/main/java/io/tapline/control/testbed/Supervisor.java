package io.tapline.control.testbed;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Starts daemons again that have died, however they did. A shell of its own session, since whoever
 * made the testbed is gone by then. Asked to end, it first finishes a start that is under way.
 */
final class Supervisor {
  static final String NAME = "supervisor";

  private Supervisor() {}

  /**
   * Its command.
   *
   * @param folder of the daemons' pid files, which each of their commands names
   * @param daemons by name, the command that starts one and returns once it is ready
   */
  static List<String> command(Path folder, Map<String, List<String>> daemons) {
    String starts =
        daemons.entrySet().stream()
            .map(each -> "%s) %s;;".formatted(each.getKey(), quoted(each.getValue())))
            .collect(Collectors.joining(" "));
    String script =
        """
        trap 'exit 0' TERM
        while sleep 0.3; do
          for daemon in %s; do
            pid=$(cat '%s/'$daemon.pid 2>/dev/null)
            grep -qs '%s/' "/proc/${pid:-none}/cmdline" && continue
            echo "$daemon has died and is started again"
            case $daemon in %s esac
          done
        done
        """
            .formatted(String.join(" ", daemons.keySet()), folder, folder, starts);
    return List.of("setsid", "sh", "-c", script);
  }

  private static String quoted(List<String> words) {
    return words.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" "));
  }
}
