package io.tapline.control.query.monitors;

import io.tapline.control.ProgressListener;
import io.tapline.control.query.services.Backend;
import io.tapline.schema.Plans;
import io.tapline.schema.proto.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A monitor process for a single query, which reads its capture files from the beginning. */
public final class OwnMonitor implements QueryMonitor {
  private static final Logger LOG = LoggerFactory.getLogger(OwnMonitor.class);

  private final MonitorProcess process;
  private final Path planFile;

  private OwnMonitor(MonitorProcess process, Path planFile) {
    this.process = process;
    this.planFile = planFile;
  }

  public static OwnMonitor start(
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
            planFile,
            plan.getMonitors(0).getId(),
            backend.endpoints().kafka(),
            source);
    try {
      return new OwnMonitor(MonitorProcess.start(command, progress, onReady), planFile);
    } catch (IOException e) {
      delete(planFile);
      throw e;
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
      LOG.warn("can't delete a plan file: {}", e.getMessage());
    }
  }
}
