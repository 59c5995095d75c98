package io.tapline.sdn.openflow;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.tapline.sdn.switches.Counter;
import io.tapline.sdn.switches.Counters;
import io.tapline.sdn.switches.Limits;
import io.tapline.sdn.switches.LogLimit;
import io.tapline.sdn.switches.SwitchListener;
import io.tapline.sdn.switches.SwitchTls;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Listens for switches. A single thread reads, decides and writes, without queues. If a switch
 * sends faster than the thread reads, the data waits in the socket.
 */
public final class OpenFlowServer implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(OpenFlowServer.class);
  private static final int TICK_MS = 100;
  private static final int LOW_WATER = 32 << 10;
  private static final int HIGH_WATER = 64 << 10;

  private final EventLoopGroup loop;
  private final ChannelGroup connections;
  private final Channel listening;

  private OpenFlowServer(EventLoopGroup loop, ChannelGroup connections, Channel listening) {
    this.loop = loop;
    this.connections = connections;
    this.listening = listening;
  }

  /**
   * Starts the server.
   *
   * @param address port 0 selects a free one
   * @param tls requires switches to present certificates that list their datapath IDs
   */
  public static OpenFlowServer start(
      InetSocketAddress address,
      Optional<SwitchTls> tls,
      SwitchListener listener,
      Counters counters,
      Limits limits)
      throws IOException {
    EventLoopGroup loop = new NioEventLoopGroup(1, new DefaultThreadFactory("openflow", true));
    ChannelGroup connections = new DefaultChannelGroup(loop.next());
    LogLimit refusals = new LogLimit();
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(loop)
            .channel(NioServerSocketChannel.class)
            .option(ChannelOption.SO_BACKLOG, 1024)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(
                ChannelOption.WRITE_BUFFER_WATER_MARK,
                new WriteBufferWaterMark(LOW_WATER, HIGH_WATER))
            .childHandler(
                new ChannelInitializer<SocketChannel>() {
                  @Override
                  protected void initChannel(SocketChannel channel) {
                    accept(channel, connections, tls, listener, counters, limits, refusals);
                  }
                });
    try {
      Channel listening = bootstrap.bind(address).sync().channel();
      loop.scheduleAtFixedRate(
          () -> tick(connections, listener, counters), TICK_MS, TICK_MS, TimeUnit.MILLISECONDS);
      return new OpenFlowServer(loop, connections, listening);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
      throw new IOException("interrupted", e);
    } catch (Exception e) {
      loop.shutdownGracefully(0, 1, TimeUnit.SECONDS);
      throw new IOException("can't listen on %s: %s".formatted(address, e.getMessage()), e);
    }
  }

  private static void accept(
      SocketChannel channel,
      ChannelGroup connections,
      Optional<SwitchTls> tls,
      SwitchListener listener,
      Counters counters,
      Limits limits,
      LogLimit refusals) {
    if (connections.size() >= limits.maxConnections()) {
      counters.add(Counter.REFUSED_CONNECTIONS);
      channel.close();
      return;
    }
    connections.add(channel);
    tls.ifPresent(
        switches -> channel.pipeline().addLast(new SslHandler(engine(switches.context()))));
    channel
        .pipeline()
        .addLast(
            new FrameDecoder(counters, limits),
            new SwitchHandler(tls, listener, counters, limits, refusals));
  }

  private static SSLEngine engine(SSLContext context) {
    SSLEngine engine = context.createSSLEngine();
    engine.setUseClientMode(false);
    engine.setNeedClientAuth(true);
    return engine;
  }

  /**
   * Runs the periodic work of each connection, then the listener's. Catches exceptions, since a
   * scheduled task that throws is never run again; closes the connection whose work failed.
   */
  private static void tick(ChannelGroup connections, SwitchListener listener, Counters counters) {
    long nowNs = System.nanoTime();
    for (Channel channel : connections) {
      ChannelHandlerContext context = channel.pipeline().context(SwitchHandler.class);
      if (context != null) {
        guarded(counters, () -> ((SwitchHandler) context.handler()).tick(context, nowNs), context);
      }
    }
    guarded(counters, listener::tick, null);
  }

  private static void guarded(Counters counters, Runnable turn, ChannelHandlerContext context) {
    try {
      turn.run();
    } catch (RuntimeException e) {
      LOG.error("the periodic task failed", e);
      counters.add(Counter.INTERNAL_ERRORS);
      if (context != null) {
        context.close();
      }
    }
  }

  public int port() {
    return ((InetSocketAddress) listening.localAddress()).getPort();
  }

  /** Runs a task on the controller's thread, after all tasks submitted earlier. */
  public <T> Future<T> call(Callable<T> task) {
    return loop.next().submit(task);
  }

  /**
   * Runs a task on the controller's thread and waits for it. REQUIRES: the caller runs on another
   * thread.
   */
  public <T> T onLoop(Callable<T> task) {
    try {
      return call(task).get();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }

  @Override
  public void close() {
    listening.close().syncUninterruptibly();
    connections.close().awaitUninterruptibly();
    loop.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
  }
}
