package io.tapline.control.cli.console;

import com.fasterxml.jackson.databind.JsonNode;
import io.tapline.compiler.text.ReadableText;
import io.tapline.control.server.Terminal;
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
 * A command's output: results go to standard output, everything else to standard error. Output for
 * people is formatted as {@link ReadableText}; output for programs is printed unchanged. A failed
 * write of a result is an error, unlike with {@link System#out}, which would lose the result
 * silently. Not thread-safe, except for {@link #error}, {@link #hint} and {@link Progress}.
 */
public final class Console implements Terminal {
  private final OutputStream bytes;
  private final Writer out;
  private final PrintWriter err;
  private final boolean outIsTerminal;
  private final int columns;
  private final Progress progress;
  private final boolean endsProcess;
  private boolean broken;

  /**
   * Creates a console.
   *
   * @param outColumns width of the terminal; 0 if standard output is not a terminal
   */
  public Console(OutputStream out, OutputStream err, int outColumns, boolean errIsTerminal) {
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

  public static Console ofProcess() {
    return new Console(
        new java.io.BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16),
        new FileOutputStream(FileDescriptor.err),
        Integer.getInteger("tapline.stdout.columns", 0),
        Boolean.getBoolean("tapline.stderr.terminal"),
        true);
  }

  /** Thrown when standard output can't be written. */
  public static final class WriteFailed extends RuntimeException {
    private static final long serialVersionUID = 1L;

    WriteFailed(IOException cause) {
      super(cause);
    }

    /** Returns the message; empty if the reader, such as {@code head}, has closed the pipe. */
    public Optional<String> reason() {
      String message = String.valueOf(getCause().getMessage());
      return message.contains("Broken pipe")
          ? Optional.empty()
          : Optional.of("can't write to standard output: " + message);
    }
  }

  @Override
  public boolean endsProcess() {
    return endsProcess;
  }

  /** Returns the maximum width of a table; 0 for no limit. */
  public int columns() {
    return columns;
  }

  /** Prints lines for people. */
  public void print(String text) {
    data(ReadableText.ofLines(text));
  }

  /** Prints a line for programs. */
  public void json(JsonNode value) {
    data(value + "\n");
  }

  /** Prints text unchanged. */
  public void data(String text) {
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

  /** Prints the first {@code length} bytes of a text unchanged. */
  public void bytes(byte[] text, int length) {
    try {
      progress.clear();
      out.flush();
      bytes.write(text, 0, length);
    } catch (IOException e) {
      throw failed(e);
    }
  }

  public void line(String line) {
    print(line + "\n");
  }

  /** Prints a paragraph, wrapped at the width of the terminal. */
  public void paragraph(String text) {
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
   * Flushes everything printed; called when a reader may be waiting for it. Does nothing after a
   * failure, which has already been reported.
   */
  public void flush() {
    if (broken) {
      return;
    }
    try {
      out.flush();
    } catch (IOException e) {
      throw failed(e);
    }
  }

  public void error(String message) {
    progress.clear();
    err.println("tapline: " + ReadableText.ofLines(message));
  }

  /** Prints the text of an error without the program's name in front of it. */
  public void errorText(String text) {
    progress.clear();
    err.print(ReadableText.ofLines(text));
    err.flush();
  }

  @Override
  public void hint(String message) {
    progress.clear();
    err.println(ReadableText.ofLines(message));
  }

  public void trace(Throwable e) {
    StringWriter text = new StringWriter();
    e.printStackTrace(new PrintWriter(text, true));
    errorText(text.toString());
  }

  @Override
  public Progress progress() {
    return progress;
  }

  @Override
  public void announce(String line) {
    line(line);
    flush();
  }

  @Override
  public void onStop(Runnable stop) {
    StopSignals.handle(stop);
  }

  @Override
  public void beforeExit(Runnable close) {
    StopSignals.closeBeforeTheEnd(close);
  }

  /** Returns standard output for picocli's help texts. */
  public PrintWriter writer() {
    return new PrintWriter(
        new Writer() {
          @Override
          public void write(char[] text, int offset, int length) {
            data(new String(text, offset, length));
          }

          /** Does nothing: the command flushes at its end, and then reports failures. */
          @Override
          public void flush() {}

          @Override
          public void close() {}
        });
  }

  public PrintWriter errorWriter() {
    return err;
  }
}
