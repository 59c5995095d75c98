package io.tapline.bench.events;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A virtual link on which datagrams marked for expedited forwarding (DSCP EF) arrive from a network
 * namespace. No host has their destination address, so there are no responses. Needs root.
 */
final class MarkedLink implements AutoCloseable {
  static final int CODE_POINT = 46;

  private final String name = "tlb" + ProcessHandle.current().pid() % 10_000_000;
  private Process sender;
  private PrintWriter phases;
  private BufferedReader counts;

  /** Shutdown hook that removes the link if the program is interrupted and skips {@link #close}. */
  private final Thread hook = new Thread(this::removeAtExit);

  private MarkedLink() {}

  /**
   * Creates the link and starts the sending program.
   *
   * @param programs folder with {@code marked_sender}
   */
  static MarkedLink open(Path programs) throws IOException, InterruptedException {
    MarkedLink link = new MarkedLink();
    try {
      run("ip netns add " + link.name);
      Runtime.getRuntime().addShutdownHook(link.hook);
      run(
          "ip link add %s type veth peer name far netns %s"
              .formatted(link.networkInterface(), link.name));
      run("ip link set " + link.networkInterface() + " up");
      run("ip -n " + link.name + " link set far up");
      link.start(programs.resolve("marked_sender"));
      return link;
    } catch (IOException e) {
      link.close();
      throw e;
    }
  }

  private void start(Path program) throws IOException {
    sender =
        new ProcessBuilder("ip", "netns", "exec", name, program.toString(), "far", "" + CODE_POINT)
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    phases = new PrintWriter(sender.getOutputStream(), true, StandardCharsets.UTF_8);
    counts =
        new BufferedReader(new InputStreamReader(sender.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Returns the interface to capture on: this host's end of the link. */
  String networkInterface() {
    return name + "a";
  }

  /**
   * Sends datagrams at an even rate.
   *
   * @return the number of datagrams sent
   */
  long send(int perSecond, long seconds) throws IOException {
    return Long.parseLong(phase(perSecond + " " + seconds));
  }

  /**
   * Sends datagrams at an even rate.
   *
   * @return the time just before each datagram was sent, in ns since the epoch
   */
  long[] sendTimed(int perSecond, long seconds) throws IOException {
    String[] words = phase(perSecond + " " + seconds + " times").split(" ");
    return Arrays.stream(words).skip(1).mapToLong(Long::parseLong).toArray();
  }

  private String phase(String line) throws IOException {
    phases.println(line);
    String sent = counts.readLine();
    if (sent == null) {
      throw new IOException("marked_sender has ended");
    }
    return sent;
  }

  private static void run(String command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command.split(" ")).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    if (process.waitFor() != 0) {
      throw new IOException(command + ": " + output.strip());
    }
  }

  private void removeAtExit() {
    try {
      remove();
    } catch (IOException | InterruptedException e) {
      System.err.printf("ip netns del %s: %s%n", name, e.getMessage());
    }
  }

  @Override
  public void close() throws IOException, InterruptedException {
    remove();
    Runtime.getRuntime().removeShutdownHook(hook);
  }

  private void remove() throws IOException, InterruptedException {
    if (sender != null) {
      sender.destroy();
      sender.waitFor();
    }
    run("ip netns del " + name);
  }
}
