package io.tapline.sdn.topology;

/** A port of a switch. */
public record SwitchPort(long datapath, int port) {
  @Override
  public String toString() {
    return "%x:%d".formatted(datapath, port);
  }
}
