package io.tapline.control.server;

import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.ControllerOptions;
import io.tapline.sdn.controller.NetworkMap;
import io.tapline.sdn.switches.SwitchTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Optional;

/**
 * The switches that a control plane controls.
 *
 * @param address address to listen on for switches; port 0 selects a free one
 * @param map the switches of the network
 * @param tls certificate requirements for switches; empty for no TLS
 */
public record SwitchSettings(InetSocketAddress address, NetworkMap map, Optional<SwitchTls> tls) {
  /**
   * Starts the switches' controller. Its epoch is the current time, so that later controllers have
   * higher epochs.
   */
  public Controller start() throws IOException {
    try {
      return Controller.start(ControllerOptions.of(address, map).with(tls));
    } catch (IOException e) {
      boolean wasTaken = String.valueOf(e.getMessage()).contains("already in use");
      throw new IOException(
          e.getMessage() + (wasTaken ? ": is another controller running?" : ""), e);
    }
  }
}
