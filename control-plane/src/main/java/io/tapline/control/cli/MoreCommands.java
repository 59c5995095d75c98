package io.tapline.control.cli;

import java.util.List;

/**
 * Commands that separate jars add to {@code tapline}. {@link java.util.ServiceLoader} finds the
 * implementations on the class path.
 */
public interface MoreCommands {
  /** Returns the commands' classes, which picocli instantiates. */
  List<Class<?>> commands();
}
