package io.tapline.sdn.simulation;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;

/**
 * Many simulated switches on one thread, each with its own connection to a controller. A frame sent
 * out of a port arrives at the linked port; without a link, it goes into a log. Methods are
 * thread-safe.
 */
public final class SimulatedSwitches implements AutoCloseable {
  private static final int READ_BYTES = 256 << 10;
  private static final int MAX_FRAMES = 10_000;

  /** A frame that left a port without a link. */
  public record SentFrame(int member, int port, byte[] frame) {}

  private record Place(int member, int port) {}

  /** A switch and its connection. */
  private final class Member implements SimulatedSwitch.Output {
    final int number;
    final SimulatedSwitch state;
    SocketChannel channel;
    MessageBuffer in = new MessageBuffer();
    final Queue<ByteBuffer> out = new ArrayDeque<>();
    ByteArrayOutputStream changes;

    Member(int number, SimulatedSwitch state) {
      this.number = number;
      this.state = state;
    }

    @Override
    public void send(ByteBuffer message) {
      out.add(message);
    }

    @Override
    public void frame(int port, byte[] frame) {
      Place peer = links.get(new Place(number, port));
      if (peer != null) {
        members.get(peer.member()).send(SimulatedSwitch.packetIn(peer.port(), frame));
        awake.add(members.get(peer.member()));
      } else if (sent.size() < MAX_FRAMES) {
        sent.add(new SentFrame(number, port, frame));
      }
    }
  }

  private final InetSocketAddress controller;
  private final List<Member> members = new ArrayList<>();
  private final Map<Place, Place> links = new HashMap<>();
  private final Queue<SentFrame> sent = new ConcurrentLinkedQueue<>();
  private final Queue<FutureTask<?>> tasks = new ConcurrentLinkedQueue<>();
  private final Queue<Member> awake = new ArrayDeque<>();
  private final ByteBuffer buffer = ByteBuffer.allocate(READ_BYTES);
  private final Selector selector = Selector.open();
  private final Thread thread = new Thread(this::run, "simulated-switches");
  private volatile boolean closed;

  /**
   * Creates switches that are not connected yet.
   *
   * @param ports number of ports per switch, numbered from 1
   * @param firstDatapath datapath ID of the first switch; the others follow
   */
  public SimulatedSwitches(InetSocketAddress controller, int count, int ports, long firstDatapath)
      throws IOException {
    this.controller = controller;
    for (int i = 0; i < count; i++) {
      members.add(new Member(i, new SimulatedSwitch(firstDatapath + i, ports)));
    }
    thread.setDaemon(true);
    thread.start();
  }

  /** Connects two ports with a cable. */
  public void link(int memberA, int portA, int memberB, int portB) {
    onLoop(
        () -> {
          links.put(new Place(memberA, portA), new Place(memberB, portB));
          return links.put(new Place(memberB, portB), new Place(memberA, portA));
        });
  }

  /** Connects all switches that are not connected. */
  public void connect() {
    onLoop(
        () -> {
          for (Member member : members) {
            if (member.channel == null) {
              connect(member);
            }
          }
          return null;
        });
  }

  private void connect(Member member) throws IOException {
    member.channel = SocketChannel.open(controller);
    member.channel.configureBlocking(false);
    member.channel.register(selector, SelectionKey.OP_READ, member);
    member.in = new MessageBuffer();
    member.out.clear();
    member.send(member.state.hello());
    flush(member);
  }

  /** Closes one switch's connection; the switch keeps its flows. */
  public void disconnect(int member) {
    onLoop(
        () -> {
          close(members.get(member));
          return null;
        });
  }

  /** Drops all flows of a switch, as a power loss does. REQUIRES: the switch is not connected. */
  public void forgetFlows(int member) {
    onLoop(
        () -> {
          members.get(member).state.forgetFlows();
          return null;
        });
  }

  /**
   * Drops a flow from a table, as if another program had deleted it; returns true if there was one.
   */
  public boolean loseFlow(int member, int table) {
    return onLoop(() -> members.get(member).state.loseFlow(table));
  }

  /** Adds a flow of another owner. */
  public void addForeign(int member, int priority) {
    onLoop(
        () -> {
          members.get(member).state.addForeign(priority);
          return null;
        });
  }

  public boolean hasPriority(int member, int priority) {
    return onLoop(() -> members.get(member).state.hasPriority(priority));
  }

  /** Delivers a frame that a host sends into a port. */
  public void receive(int member, int port, byte[] frame) {
    onLoop(
        () -> {
          Member target = members.get(member);
          target.send(SimulatedSwitch.packetIn(port, frame));
          flush(target);
          return null;
        });
  }

  /** Returns the frames that left ports without links since the last call, at most 10,000. */
  public List<SentFrame> takeSent() {
    List<SentFrame> taken = new ArrayList<>();
    for (SentFrame sentMessage = sent.poll(); sentMessage != null; sentMessage = sent.poll()) {
      taken.add(sentMessage);
    }
    return taken;
  }

  /** Starts recording the bytes of changes. */
  public void record() {
    onLoop(
        () -> {
          members.forEach(member -> member.changes = new ByteArrayOutputStream());
          return null;
        });
  }

  /** Returns the recorded bytes of a switch: flow changes and barriers, in order. */
  public byte[] recorded(int member) {
    return onLoop(() -> members.get(member).changes.toByteArray());
  }

  public int flows(int member) {
    return onLoop(() -> members.get(member).state.flowCount());
  }

  /** Returns the total number of flows of all switches. */
  public long flows() {
    return onLoop(() -> members.stream().mapToLong(member -> member.state.flowCount()).sum());
  }

  /** Returns the number of flow changes that all switches received. */
  public long flowMods() {
    return onLoop(() -> members.stream().mapToLong(member -> member.state.flowMods).sum());
  }

  private <T> T onLoop(Callable<T> task) {
    FutureTask<T> future = new FutureTask<>(task);
    tasks.add(future);
    selector.wakeup();
    try {
      return future.get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  private void run() {
    while (!closed) {
      try {
        selector.select();
      } catch (IOException e) {
        return;
      }
      for (FutureTask<?> task = tasks.poll(); task != null; task = tasks.poll()) {
        task.run();
      }
      Collection<SelectionKey> ready = selector.selectedKeys();
      for (SelectionKey key : ready) {
        serve((Member) key.attachment());
      }
      ready.clear();
      for (Member member = awake.poll(); member != null; member = awake.poll()) {
        serve(member);
      }
    }
  }

  private void serve(Member member) {
    if (member.channel == null) {
      return;
    }
    try {
      buffer.clear();
      int read = member.channel.read(buffer);
      if (read < 0) {
        close(member);
        return;
      }
      member.in.take(buffer.flip(), message -> take(member, message));
      flush(member);
    } catch (IOException e) {
      close(member);
    }
  }

  private static void take(Member member, ByteBuffer message) {
    if (member.changes != null && SimulatedSwitch.isChange(message)) {
      byte[] bytes = new byte[message.limit()];
      message.get(0, bytes);
      member.changes.writeBytes(bytes);
    }
    member.state.take(message, member);
  }

  private void flush(Member member) throws IOException {
    while (!member.out.isEmpty() && member.channel != null) {
      member.channel.write(member.out.peek());
      if (member.out.peek().hasRemaining()) {
        break;
      }
      member.out.remove();
    }
    if (member.channel != null) {
      int wanted = member.out.isEmpty() ? 0 : SelectionKey.OP_WRITE;
      member.channel.keyFor(selector).interestOps(SelectionKey.OP_READ | wanted);
    }
  }

  private static void close(Member member) {
    try {
      if (member.channel != null) {
        member.channel.close();
      }
    } catch (IOException e) {
      // The connection is closed in any case.
    }
    member.channel = null;
  }

  @Override
  public void close() {
    if (thread.isAlive()) {
      onLoop(
          () -> {
            members.forEach(SimulatedSwitches::close);
            closed = true;
            return null;
          });
    }
    try {
      thread.join();
      selector.close();
    } catch (IOException e) {
      // A failure to close has no remedy.
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
