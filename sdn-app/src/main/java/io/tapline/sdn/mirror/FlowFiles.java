package io.tapline.sdn.mirror;

import io.tapline.network.rules.RuleTable;
import io.tapline.sdn.flow.Cookie;
import io.tapline.sdn.flow.Flow;
import io.tapline.sdn.flow.FlowDifference;
import io.tapline.sdn.flow.FlowKey;
import io.tapline.sdn.flow.SwitchMessage.FlowMod;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Writes flows to files, for networks where other programs install them. For each switch, {@code
 * SWITCH.flows} has the whole mirror table, and {@code SWITCH.000001.change}, {@code
 * SWITCH.000002.change}… have the changes, each from the previous table. A reader applies each
 * change with {@code ovs-ofctl --bundle add-flows BRIDGE} and then removes it. A process's first
 * change for a switch starts from an empty table, regardless of earlier files. Thread-safe.
 */
public final class FlowFiles implements NetworkAdapter {
  private static final Pattern FILE =
      Pattern.compile("(?<switch>.+)\\.(flows|(?<number>\\d{6,9})\\.change)");

  private final Path folder;
  private final Map<String, Map<String, MirrorPort>> ports;
  private final long epoch;
  private final Map<String, List<Flow>> written = new TreeMap<>();
  private final SortedMap<String, List<String>> missing = new TreeMap<>();

  /** Number of each switch's last change, written by this or an earlier process. */
  private final Map<String, Integer> changes = new TreeMap<>();

  /**
   * Creates an adapter that writes to a folder, which must exist.
   *
   * @param ports by switch and host
   * @throws IOException if the folder can't be read
   */
  public FlowFiles(Path folder, Map<String, Map<String, MirrorPort>> ports, long epoch)
      throws IOException {
    this.folder = folder;
    this.ports = ports;
    this.epoch = epoch;
    try (Stream<Path> files = Files.list(folder)) {
      files.map(file -> FILE.matcher(file.getFileName().toString())).forEach(this::found);
    }
  }

  private void found(Matcher file) {
    if (file.matches()) {
      int number = file.group("number") == null ? 0 : Integer.parseInt(file.group("number"));
      changes.merge(file.group("switch"), number, Math::max);
    }
  }

  @Override
  public synchronized void mirror(MirrorState wantedState) throws IOException {
    missing.clear();
    TreeSet<String> switches = new TreeSet<>(changes.keySet());
    switches.addAll(wantedState.tables().keySet());
    for (String name : switches) {
      RuleTable table = wantedState.tables().getOrDefault(name, RuleTable.empty());
      Map<String, MirrorPort> own = new HashMap<>();
      wantedState
          .monitors()
          .forEach(
              (monitor, host) -> {
                MirrorPort port = ports.getOrDefault(name, Map.of()).get(host);
                if (port != null) {
                  own.put(monitor, port);
                }
              });
      MirrorFlows.Result result = MirrorFlows.of(table, own, epoch);
      List<String> lacks = new ArrayList<>();
      result.unresolved().forEach(monitor -> lacks.add("no port for " + monitor));
      result.unknownPorts().forEach(port -> lacks.add("flows in files can't name port " + port));
      if (!lacks.isEmpty()) {
        missing.put(name, lacks);
      }
      write(name, result.flows());
    }
  }

  private void write(String name, List<Flow> flows) throws IOException {
    boolean isKnown = written.containsKey(name);
    List<String> lines = new ArrayList<>(isKnown ? List.of() : List.of(deleteAll()));
    FlowDifference.between(written.getOrDefault(name, List.of()), flows).messages().stream()
        .filter(FlowMod.class::isInstance)
        .map(message -> line((FlowMod) message))
        .forEach(lines::add);
    if (lines.isEmpty()) {
      return;
    }
    int number = changes.merge(name, 1, Integer::sum);
    replace("%s.%06d.change".formatted(name, number), lines);
    replace(name + ".flows", flows.stream().map(Flow::toString).toList());
    Map<FlowKey, Flow> after = FlowDifference.byKey(flows);
    written.put(name, List.copyOf(after.values()));
  }

  /** Returns the change that deletes all mirror flows. */
  private static String deleteAll() {
    return "delete table=0,cookie=0x%x/0x%x"
        .formatted(Cookie.of(Cookie.Kind.MIRROR, 0), Cookie.KIND_MASK);
  }

  private static String line(FlowMod mod) {
    return switch (mod.kind()) {
      case ADD -> "add " + mod.flow();
      case MODIFY -> "modify_strict " + withMask(mod.flow());
      case DELETE -> "delete_strict " + withMask(mod.flow()).replaceFirst(",actions=.*", "");
    };
  }

  private static String withMask(Flow flow) {
    return flow.toString()
        .replaceFirst(
            ",cookie=0x[0-9a-f]+", ",cookie=0x%x/0x%x".formatted(flow.cookie(), Cookie.KIND_MASK));
  }

  /** Replaces a file atomically: readers see either the new or the old contents, both complete. */
  private void replace(String file, List<String> lines) throws IOException {
    Path newFile = folder.resolve(file + ".new");
    Files.write(newFile, lines);
    Files.move(
        newFile,
        folder.resolve(file),
        StandardCopyOption.ATOMIC_MOVE,
        StandardCopyOption.REPLACE_EXISTING);
  }

  @Override
  public synchronized MirrorReport report() {
    SortedMap<String, Integer> rules = new TreeMap<>();
    written.forEach((name, flows) -> rules.put(name, flows.size()));
    rules.values().removeIf(count -> count == 0);
    return new MirrorReport(rules, new TreeMap<>(missing));
  }

  @Override
  public void close() {}
}
