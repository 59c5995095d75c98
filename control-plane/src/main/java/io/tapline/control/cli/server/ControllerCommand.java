package io.tapline.control.cli.server;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.tapline.compiler.Inventory;
import io.tapline.control.cli.console.CommandException;
import io.tapline.control.cli.console.Console;
import io.tapline.control.cli.console.StopSignals;
import io.tapline.control.cli.console.UsageException;
import io.tapline.control.cli.options.ClearOptions;
import io.tapline.control.cli.options.Installation;
import io.tapline.control.cli.options.SwitchTlsOptions;
import io.tapline.control.cli.options.TlsOptions;
import io.tapline.control.server.SwitchSettings;
import io.tapline.network.Network;
import io.tapline.sdn.controller.Controller;
import io.tapline.sdn.controller.NetworkMap;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code tapline controller}: a controller that only forwards. */
@Command(
    name = "controller",
    description =
        "Runs an OpenFlow controller that forwards traffic between the hosts of a network.",
    footer = {
      "",
      "Switches keep their flows when it ends. A server with --openflow-port is a controller,",
      "too, and also mirrors. Shuts down cleanly on SIGTERM or Ctrl-C."
    })
public final class ControllerCommand implements Callable<Integer> {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final Console console;

  @Option(
      names = "--openflow-port",
      paramLabel = "PORT",
      defaultValue = "6653",
      description = "TCP port for switches; 0 selects a free port. Default: ${DEFAULT-VALUE}.")
  private int port;

  @Option(
      names = "--openflow-address",
      paramLabel = "ADDRESS",
      defaultValue = "127.0.0.1",
      description = "Address to listen on for switches. Default: ${DEFAULT-VALUE}.")
  private String address;

  @Option(
      names = "--inventory",
      paramLabel = "FILE",
      description =
          "YAML file with the network; if it has datapaths, only those switches are accepted.")
  private Path inventoryFile;

  @Option(
      names = "--status",
      paramLabel = "FILE",
      description = "Write the known state of the network to this file as JSON, every second.")
  private Path status;

  @Mixin private TlsOptions tls;
  @Mixin private SwitchTlsOptions switches;
  @Mixin private ClearOptions clear;

  ControllerCommand(Console console) {
    this.console = console;
  }

  /** Reads the switches of an inventory's network; returns an empty map if there is no network. */
  static NetworkMap map(Path file) {
    Inventory inventory = Installation.inventory(file);
    Optional<Network> network = Installation.network(file, inventory);
    if (network.isEmpty()) {
      return NetworkMap.NOTHING;
    }
    try {
      return NetworkMap.of(network.get(), Files.readString(file));
    } catch (IOException | IllegalArgumentException e) {
      throw new CommandException("inventory file " + file + ": " + e.getMessage(), e);
    }
  }

  /** Throws a usage error if connections to other hosts' switches would be unencrypted. */
  public static void check(ClearOptions clear, TlsOptions tls, String address) {
    if (tls.of(TlsOptions.Service.OPENFLOW).isEmpty()) {
      clear.check(
          ClearOptions.Service.OPENFLOW,
          List.of(address),
          "--openflow-address " + address,
          "--tls openflow with --tls-certificate, --tls-key and --tls-ca");
    }
  }

  /** Returns the address to listen on for switches. */
  static InetSocketAddress listenAt(String address, int port) {
    if (port < 0 || port > 65_535) {
      throw new UsageException(
          "--openflow-port " + port + ": a port must be a number from 0 to 65535");
    }
    InetSocketAddress listenAddress = new InetSocketAddress(address, port);
    if (listenAddress.isUnresolved()) {
      throw new UsageException(
          "--openflow-address "
              + address
              + ": the name cannot be resolved; use an address of this host");
    }
    return listenAddress;
  }

  private static Controller start(SwitchSettings settings) {
    try {
      return settings.start();
    } catch (IOException e) {
      throw new CommandException(e.getMessage(), e);
    }
  }

  @Override
  public Integer call() throws Exception {
    tls.check(Set.of(TlsOptions.Service.OPENFLOW));
    check(clear, tls, address);
    clear.warn(console);
    CountDownLatch stop = new CountDownLatch(1);
    try (Controller controller =
        start(new SwitchSettings(listenAt(address, port), map(inventoryFile), switches.tls(tls)))) {
      StopSignals.handle(stop::countDown);
      console.line("listening for switches on %s:%d".formatted(address, controller.port()));
      console.flush();
      while (!stop.await(1, TimeUnit.SECONDS)) {
        if (status != null) {
          write(controller);
        }
      }
    }
    return 0;
  }

  private void write(Controller controller) {
    Path newFile = status.resolveSibling(status.getFileName() + ".new");
    try {
      Files.writeString(newFile, MAPPER.writeValueAsString(controller.status()) + "\n");
      Files.move(
          newFile, status, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new CommandException("can't write " + status + ": " + e.getMessage(), e);
    }
  }
}
