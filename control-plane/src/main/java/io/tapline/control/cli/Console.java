package io.tapline.control.cli;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.ReadableText;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/**
 * Where a command prints: results to standard output, everything else to standard error. What
 * people read is {@link ReadableText}; what programs read is as it is. A result that can't be
 * written is an error, unlike with {@link System#out}, which would lose it in silence. Not
 * thread-safe, but for {@link #error}, {@link #hint} and {@link Progress}.
 */
final class Console {
  private final OutputStream bytes;
  private final Writer out;
  private final PrintWriter err;
  private final boolean outIsTerminal;
  private final int columns;
  private final Progress progress;
  private final boolean endsProcess;
  private boolean broken;

  /**
   * A console.
   *
   * @param outColumns the terminal's width if standard output is one, else 0
   */
  Console(OutputStream out, OutputStream err, int outColumns, boolean errIsTerminal) {
    this(out, err, outColumns, errIsTerminal, false);
  }

  private Console(
      OutputStream out,
      OutputStream err,
      int outColumns,
      boolean errIsTerminal,
      boolean endsProcess) {
    this.endsProcess = endsProcess;
    this.bytes = out;
    this.out = new OutputStreamWriter(out, StandardCharsets.UTF_8);
    this.err = new PrintWriter(err, true, StandardCharsets.UTF_8);
    this.outIsTerminal = outColumns > 0;
    this.columns = outColumns;
    this.progress = new Progress(this.err, errIsTerminal);
  }

  static Console ofProcess() {
    return new Console(
        new java.io.BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16),
        new FileOutputStream(FileDescriptor.err),
        Integer.getInteger("tapline.stdout.columns", 0),
        Boolean.getBoolean("tapline.stderr.terminal"),
        true);
  }

  /** Standard output can't be written. */
  static final class WriteFailed extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WriteFailed(IOException cause) {
      super(cause);
    }

    /** What to say; nothing if the reader, such as {@code head}, has seen enough. */
    Optional<String> reason() {
      String message = String.valueOf(getCause().getMessage());
      return message.contains("Broken pipe")
          ? Optional.empty()
          : Optional.of("can't write to standard output: " + message);
    }
  }

  /** Whether the process ends with the command that has this console. */
  boolean endsProcess() {
    return endsProcess;
  }

  /** How wide a table may be; 0 if it may be as wide as it is. */
  int columns() {
    return columns;
  }

  /** Prints lines for people. */
  void print(String text) {
    data(ReadableText.ofLines(text));
  }

  /** Prints a line for programs. */
  void json(JsonNode value) {
    data(value + "\n");
  }

  /** Prints text as it is. */
  void data(String text) {
    try {
      progress.clear();
      out.write(text);
      if (outIsTerminal) {
        out.flush();
      }
    } catch (IOException e) {
      throw failed(e);
    }
  }

  /** Prints bytes that are text already. */
  void bytes(byte[] text, int length) {
    try {
      progress.clear();
      out.flush();
      bytes.write(text, 0, length);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  void line(String line) {
    print(line + "\n");
  }

  /** Prints a text of several words, broken between words where the terminal ends. */
  void paragraph(String text) {
    int length = 0;
    StringBuilder lines = new StringBuilder();
    for (String word : text.split(" ")) {
      boolean fits = columns == 0 || length + 1 + word.length() <= columns;
      lines.append(length == 0 ? "" : fits ? " " : "\n").append(word);
      length = length == 0 || !fits ? word.length() : length + 1 + word.length();
    }
    line(lines.toString());
  }

  private WriteFailed failed(IOException cause) {
    broken = true;
    return new WriteFailed(cause);
  }

  /**
   * Hands everything printed to the system: for results that somebody may be waiting for. Nothing
   * happens after a failure, which has been told.
   */
  void flush() {
    if (broken) {
      return;
    }
    try {
      out.flush();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  void error(String message) {
    progress.clear();
    err.println("tapline: " + ReadableText.ofLines(message));
  }

  /** An error that says of itself where it comes from. */
  void errorText(String text) {
    progress.clear();
    err.print(ReadableText.ofLines(text));
    err.flush();
  }

  void hint(String message) {
    progress.clear();
    err.println(ReadableText.ofLines(message));
  }

  void trace(Throwable e) {
    StringWriter text = new StringWriter();
    e.printStackTrace(new PrintWriter(text, true));
    errorText(text.toString());
  }

  Progress progress() {
    return progress;
  }

  /** Standard output for picocli's help texts. */
  PrintWriter writer() {
    return new PrintWriter(
        new Writer() {
          @Override
          public void write(char[] text, int offset, int length) {
            data(new String(text, offset, length));
          }

          /** The end of the command flushes, where a failure is told as it should be. */
          @Override
          public void flush() {}

          @Override
          public void close() {}
        });
  }

  PrintWriter errorWriter() {
    return err;
  }
}
