package io.tapline.sdn.simulation;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A simulated switch that speaks OpenFlow 1.3. It is implemented from the specification, without
 * the controller's library, so that each checks the other. Stores flows in the encoding of flow
 * statistics. Not thread-safe.
 */
final class SimulatedSwitch {
  static final int VERSION = 4;
  private static final int MAX_REPLY_BYTES = 60_000;
  private static final int ENTRY_HEADER = 48;
  private static final int MATCH_AT = 48;
  private static final int FLOW_MOD = 14;
  private static final int BARRIER = 20;

  /** Receives responses and frames. */
  interface Output {
    void send(ByteBuffer message);

    void frame(int port, byte[] frame);
  }

  private record Key(int table, int priority, ByteBuffer match) {}

  private final long datapath;
  private final int ports;
  private final Map<Key, byte[]> flows = new LinkedHashMap<>();
  long flowMods;

  SimulatedSwitch(long datapath, int ports) {
    this.datapath = datapath;
    this.ports = ports;
  }

  int flowCount() {
    return flows.size();
  }

  /** Drops all flows, as a power loss does. */
  void forgetFlows() {
    flows.clear();
  }

  /**
   * Drops a flow from a table, as if another program had deleted it; returns true if there was one.
   */
  boolean loseFlow(int table) {
    Key lostKey =
        flows.keySet().stream().filter(key -> key.table == table).findFirst().orElse(null);
    return lostKey != null && flows.remove(lostKey) != null;
  }

  /** Adds a flow of another owner. */
  void addForeign(int priority) {
    ByteBuffer match = ByteBuffer.allocate(8).putShort(0, (short) 1).putShort(2, (short) 4);
    byte[] entry = entry(0, priority, 0x1234, match.array(), new byte[0]);
    flows.put(new Key(0, priority, match), entry);
  }

  boolean hasPriority(int priority) {
    return flows.keySet().stream().anyMatch(key -> key.priority == priority);
  }

  static ByteBuffer message(int type, int xid, int length) {
    ByteBuffer message = ByteBuffer.allocate(length);
    return message.put((byte) VERSION).put((byte) type).putShort((short) length).putInt(xid);
  }

  ByteBuffer hello() {
    return message(0, 1, 8).flip();
  }

  /** Returns true if a message changes flows or is a barrier. */
  static boolean isChange(ByteBuffer message) {
    return message.get(1) == FLOW_MOD || message.get(1) == BARRIER;
  }

  /** Handles a complete message. */
  void take(ByteBuffer message, Output out) {
    int type = message.get(1);
    int xid = message.getInt(4);
    switch (type) {
      case 2 -> out.send(message(3, xid, 8).flip());
      case 5 -> out.send(features(xid));
      case 13 -> packetOut(message, out);
      case FLOW_MOD -> flowMod(message);
      case 18 -> multipart(message.getShort(8), xid, out);
      case BARRIER -> out.send(message(21, xid, 8).flip());
      default -> {}
    }
  }

  private ByteBuffer features(int xid) {
    return message(6, xid, 32).putLong(datapath).putInt(0).put((byte) 254).position(32).flip();
  }

  private void flowMod(ByteBuffer message) {
    flowMods++;
    int matchLength = (message.getShort(MATCH_AT + 2) & 0xffff) + 7 & ~7;
    byte[] match = new byte[matchLength];
    message.get(MATCH_AT, match);
    byte[] instructions = new byte[message.limit() - MATCH_AT - matchLength];
    message.get(MATCH_AT + matchLength, instructions);
    int table = message.get(24);
    int priority = message.getShort(30) & 0xffff;
    Key key = new Key(table, priority, ByteBuffer.wrap(match));
    long cookie = message.getLong(8);
    long mask = message.getLong(16);
    byte[] has = flows.get(key);
    boolean matches = has != null && ((cookie(has) ^ cookie) & mask) == 0;
    switch (message.get(25)) {
      case 0 -> flows.put(key, entry(table, priority, cookie, match, instructions));
      case 2 -> {
        if (matches) {
          flows.put(key, entry(table, priority, cookie(has), match, instructions));
        }
      }
      case 4 -> {
        if (matches) {
          flows.remove(key);
        }
      }
      default -> throw new IllegalArgumentException("the controller sends only strict changes");
    }
  }

  private static long cookie(byte[] entry) {
    return ByteBuffer.wrap(entry).getLong(24);
  }

  private static byte[] entry(
      int table, int priority, long cookie, byte[] match, byte[] instructions) {
    int length = ENTRY_HEADER + match.length + instructions.length;
    return ByteBuffer.allocate(length)
        .putShort((short) length)
        .put((byte) table)
        .putShort(12, (short) priority)
        .putLong(24, cookie)
        .position(ENTRY_HEADER)
        .put(match)
        .put(instructions)
        .array();
  }

  private void multipart(int type, int xid, Output out) {
    switch (type) {
      case 1 -> parts(1, xid, List.copyOf(flows.values()), out);
      case 13 -> {
        List<byte[]> descriptions = new ArrayList<>();
        for (int port = 1; port <= ports; port++) {
          descriptions.add(port(port));
        }
        parts(13, xid, descriptions, out);
      }
      default -> parts(type, xid, List.of(), out);
    }
  }

  private static byte[] port(int number) {
    ByteBuffer port = ByteBuffer.allocate(64).putInt(number);
    byte[] name = ("p" + number).getBytes(StandardCharsets.US_ASCII);
    return port.position(16).put(name).array();
  }

  private static void parts(int type, int xid, List<byte[]> entries, Output out) {
    int position = 0;
    do {
      ByteBuffer part = ByteBuffer.allocate(MAX_REPLY_BYTES + 16);
      part.put((byte) VERSION).put((byte) 19).putShort(4, (short) 0).putInt(4, xid);
      part.putShort(8, (short) type).position(16);
      while (position < entries.size()
          && part.position() + entries.get(position).length <= MAX_REPLY_BYTES) {
        part.put(entries.get(position++));
      }
      part.putShort(2, (short) part.position())
          .putShort(10, (short) (position < entries.size() ? 1 : 0));
      out.send(part.flip());
    } while (position < entries.size());
  }

  private static void packetOut(ByteBuffer message, Output out) {
    int actions = message.getShort(16) & 0xffff;
    byte[] frame = new byte[message.limit() - 24 - actions];
    message.get(24 + actions, frame);
    for (int offset = 24; offset < 24 + actions; offset += 16) {
      out.frame(message.getInt(offset + 4), frame);
    }
  }

  /** Returns the message that reports a frame at a port to the controller. */
  static ByteBuffer packetIn(int port, byte[] frame) {
    ByteBuffer message = message(10, 0, 42 + frame.length);
    message.putInt(-1).putShort((short) frame.length).putShort((short) 0).putLong(0);
    message.putShort((short) 1).putShort((short) 12).putInt(0x8000_0004).putInt(port).putInt(0);
    return message.putShort((short) 0).put(frame).flip();
  }
}
