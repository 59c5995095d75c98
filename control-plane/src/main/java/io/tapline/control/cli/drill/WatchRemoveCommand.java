package io.tapline.control.cli.drill;

import io.tapline.control.cli.client.ServerOption;
import io.tapline.control.cli.console.Console;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** {@code tapline watch remove}. */
@Command(name = "remove", description = "Ends a watch on all hosts.")
final class WatchRemoveCommand implements Callable<Integer> {
  @Parameters(paramLabel = "ID", description = "The watch's ID.")
  private String id;

  @Mixin private ServerOption server;

  WatchRemoveCommand(Console console) {
    // Prints nothing: the exit code shows that it worked.
  }

  @Override
  public Integer call() {
    server.client().delete(WatchCommand.PATH + "/" + URLEncoder.encode(id, StandardCharsets.UTF_8));
    return 0;
  }
}
