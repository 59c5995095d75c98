package io.tapline.bench;

import io.tapline.control.cli.MoreCommands;
import java.util.List;

/** Adds {@code tapline bench} to the program. */
public final class BenchCommands implements MoreCommands {
  @Override
  public List<Class<?>> commands() {
    return List.of(BenchCommand.class);
  }
}
