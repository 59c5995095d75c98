package io.tapline.control.registry;

import io.tapline.schema.proto.PacketTrigger;
import io.tapline.schema.rpc.TriggersCommand;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * A running query's packet triggers, which replace those in its plan. A number identifies the same
 * trigger in all versions.
 *
 * @param version increases with each change, from 1, even across restarts of the server
 * @param triggers the triggers by number ({@code PacketTrigger.processor})
 */
public record TriggerSet(long version, Map<Integer, PacketTrigger> triggers) {
  /**
   * A command takes no more triggers once they have this many bytes, since messages to monitors
   * have at most 192 KiB.
   */
  private static final int MAX_PART_BYTES = 128 << 10;

  public TriggerSet {
    triggers = new TreeMap<>(triggers);
  }

  /** Returns the commands that set all triggers, regardless of those that the host has. */
  List<TriggersCommand> all(String query, int epoch) {
    return commands(query, epoch, OptionalLong.empty(), List.of(), triggers);
  }

  /** Returns the commands that change an earlier version of the query's triggers to this one. */
  List<TriggersCommand> since(TriggerSet earlier, String query, int epoch) {
    List<Integer> removed = new ArrayList<>(earlier.triggers.keySet());
    removed.removeAll(triggers.keySet());
    Map<Integer, PacketTrigger> added = new TreeMap<>(triggers);
    added.keySet().removeAll(earlier.triggers.keySet());
    return commands(query, epoch, OptionalLong.of(earlier.version), removed, added);
  }

  private List<TriggersCommand> commands(
      String query,
      int epoch,
      OptionalLong base,
      List<Integer> removed,
      Map<Integer, PacketTrigger> added) {
    List<TriggersCommand> commands = new ArrayList<>();
    TriggersCommand.Builder next = command(query, epoch, base).addAllRemove(removed);
    int bytes = 0;
    for (PacketTrigger trigger : added.values()) {
      if (bytes >= MAX_PART_BYTES) {
        commands.add(next.setMore(true).build());
        next = command(query, epoch, base);
        bytes = 0;
      }
      next.addAdd(trigger);
      bytes += trigger.getSerializedSize();
    }
    commands.add(next.build());
    return commands;
  }

  private TriggersCommand.Builder command(String query, int epoch, OptionalLong base) {
    TriggersCommand.Builder command =
        TriggersCommand.newBuilder().setQuery(query).setEpoch(epoch).setVersion(version);
    base.ifPresent(command::setBase);
    return command;
  }
}
