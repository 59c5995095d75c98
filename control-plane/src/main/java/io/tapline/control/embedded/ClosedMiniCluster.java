package io.tapline.control.embedded;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.blob.BlobServer;
import org.apache.flink.runtime.blob.TransientBlobService;
import org.apache.flink.runtime.dispatcher.DispatcherGateway;
import org.apache.flink.runtime.dispatcher.SessionDispatcherFactory;
import org.apache.flink.runtime.dispatcher.runner.DefaultDispatcherRunnerFactory;
import org.apache.flink.runtime.entrypoint.component.DefaultDispatcherResourceManagerComponentFactory;
import org.apache.flink.runtime.entrypoint.component.DispatcherResourceManagerComponentFactory;
import org.apache.flink.runtime.leaderelection.LeaderElection;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.resourcemanager.ResourceManagerGateway;
import org.apache.flink.runtime.resourcemanager.StandaloneResourceManagerFactory;
import org.apache.flink.runtime.rest.RestEndpointFactory;
import org.apache.flink.runtime.rest.handler.RestHandlerConfiguration;
import org.apache.flink.runtime.rest.handler.RestHandlerSpecification;
import org.apache.flink.runtime.rest.handler.legacy.metrics.MetricFetcher;
import org.apache.flink.runtime.rpc.FatalErrorHandler;
import org.apache.flink.runtime.webmonitor.WebMonitorEndpoint;
import org.apache.flink.runtime.webmonitor.retriever.GatewayRetriever;
import org.apache.flink.shaded.netty4.io.netty.channel.ChannelInboundHandler;
import org.apache.flink.util.ConfigurationException;

/**
 * A Flink cluster within this process that no other process can reach: once it has started, it has
 * no open port. Its components call each other in memory, its single task manager exchanges data
 * only within itself, and the two servers that Flink always starts are closed: REST, which would
 * let any user of this host cancel jobs, and the blob server, which would store anything it is
 * sent.
 */
final class ClosedMiniCluster extends MiniCluster {
  private static final Duration CLOSING = Duration.ofSeconds(30);

  private final CompletableFuture<Void> restClosed = new CompletableFuture<>();

  /**
   * Creates a cluster. REQUIRES: one task manager, shared RPC, no offloading to the blob server.
   */
  ClosedMiniCluster(MiniClusterConfiguration configuration) {
    super(configuration, () -> FlinkRpc.load(configuration.getConfiguration()));
  }

  /** Returns when the cluster runs and its ports are closed. */
  @Override
  public void start() throws Exception {
    super.start();
    restClosed.get(CLOSING.toMillis(), TimeUnit.MILLISECONDS);
  }

  @Override
  protected DispatcherResourceManagerComponentFactory
      createDispatcherResourceManagerComponentFactory() {
    RestEndpointFactory<DispatcherGateway> rest =
        (settings, dispatcher, manager, blobs, executor, metrics, election, onError) -> {
          // Flink passes the blob server itself.
          ((BlobServer) blobs).close();
          return new ClosedRest(
              settings,
              dispatcher,
              manager,
              blobs,
              executor,
              metrics,
              election,
              onError,
              restClosed);
        };
    return new DefaultDispatcherResourceManagerComponentFactory(
        DefaultDispatcherRunnerFactory.createSessionRunner(SessionDispatcherFactory.INSTANCE),
        StandaloneResourceManagerFactory.getInstance(),
        rest);
  }

  /** A REST endpoint without paths. It closes its port as soon as the port is bound. */
  private static final class ClosedRest extends WebMonitorEndpoint<DispatcherGateway> {
    private final CompletableFuture<Void> closed;

    ClosedRest(
        Configuration settings,
        GatewayRetriever<DispatcherGateway> dispatcher,
        GatewayRetriever<ResourceManagerGateway> manager,
        TransientBlobService blobs,
        ScheduledExecutorService executor,
        MetricFetcher metrics,
        LeaderElection election,
        FatalErrorHandler onError,
        CompletableFuture<Void> closed)
        throws IOException, ConfigurationException {
      super(
          dispatcher,
          settings,
          RestHandlerConfiguration.fromConfiguration(settings),
          manager,
          blobs,
          executor,
          metrics,
          election,
          RestEndpointFactory.createExecutionGraphCache(
              RestHandlerConfiguration.fromConfiguration(settings)),
          onError);
      this.closed = closed;
    }

    @Override
    protected List<Tuple2<RestHandlerSpecification, ChannelInboundHandler>> initializeHandlers(
        CompletableFuture<String> address) {
      // The caller sorts the list.
      return new ArrayList<>();
    }

    @Override
    public void startInternal() {
      closeAsync()
          .whenComplete(
              (nothing, error) -> {
                if (error == null) {
                  closed.complete(null);
                } else {
                  closed.completeExceptionally(error);
                }
              });
    }
  }
}
