package io.tapline.control.query.monitors;

import io.tapline.control.ProgressListener;
import io.tapline.control.query.services.Backend;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A monitor process for a single query, which reads its capture files from the beginning. */
final class OwnMonitor implements QueryMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(OwnMonitor.class);

  private final MonitorProcess process;
  private final Path planFile;

  private OwnMonitor(MonitorProcess process, Path planFile) {
    this.process = process;
    this.planFile = planFile;
  }

  static OwnMonitor start(
      Backend backend, Plan plan, Source source, ProgressListener progress, Runnable onReady)
      throws IOException {
    Path planFile = backend.folder().resolve(plan.getQuery() + ".plan.json");
    Files.writeString(planFile, Plans.toJson(plan));
    MonitorProcess.Command command =
        new MonitorProcess.Command(
            backend.monitor(),
            backend.plugins(),
            backend.hashKeyFile(),
            backend.access().monitors(),
            List.of("--plan", planFile.toString()),
            plan.getMonitors(0).getId(),
            backend.endpoints().kafka(),
            source);
    try {
      Events events = new Events(progress, onReady, progress.phase("start the monitor"));
      MonitorProcess process = MonitorProcess.start(command, events);
      process.end().whenComplete((nothing, error) -> events.ended());
      return new OwnMonitor(process, planFile);
    } catch (IOException e) {
      delete(planFile);
      throw e;
    }
  }

  /** Events of the process, all of which concern its query. */
  private static final class Events implements MonitorEvents {
    private final ProgressListener listener;
    private final Runnable onReady;
    private ProgressListener.Phase phase;

    Events(ProgressListener listener, Runnable onReady, ProgressListener.Phase starting) {
      this.listener = listener;
      this.onReady = onReady;
      this.phase = starting;
    }

    @Override
    public void ready() {
      enter(listener.phase("read the capture"));
      onReady.run();
    }

    void ended() {
      enter(() -> {});
    }

    private synchronized void enter(ProgressListener.Phase next) {
      phase.close();
      phase = next;
    }

    @Override
    public void progress(double fraction, long packets, long bytes) {
      listener.progress("reading packets", fraction, packets, bytes);
    }

    @Override
    public void warning(String message) {
      listener.warning(message);
    }
  }

  @Override
  public CompletableFuture<Void> end() {
    return process.end();
  }

  @Override
  public void stop() {
    process.stop();
  }

  @Override
  public void kill() {
    process.kill();
    delete(planFile);
  }

  @Override
  public boolean killed() {
    return process.killed();
  }

  private static void delete(Path planFile) {
    try {
      Files.deleteIfExists(planFile);
    } catch (IOException e) {
      LOG.warn("a plan file stays: {}", e.getMessage());
    }
  }
}
