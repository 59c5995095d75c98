package io.tapline.sdn.topology;

/** Port of a switch, given by the datapath ID and the port number. */
public record SwitchPort(long datapath, int port) {
  @Override
  public String toString() {
    return "%x:%d".formatted(datapath, port);
  }
}
