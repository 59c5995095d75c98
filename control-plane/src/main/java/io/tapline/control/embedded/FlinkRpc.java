package io.tapline.control.embedded;

import io.tapline.control.flink.JobJar;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.ServiceLoader;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.core.classloading.SubmoduleClassLoader;
import org.apache.flink.runtime.rpc.RpcSystem;
import org.apache.flink.util.Reference;

/**
 * Flink's RPC system, which has a separate class loader, since its Scala version differs from
 * Kafka's. Flink would unpack the 24 MB jar at each start; the build has already unpacked it next
 * to the class path.
 */
final class FlinkRpc {
  private static final String JAR = "../flink-rpc/flink-rpc-akka.jar";

  private FlinkRpc() {}

  /**
   * Loads the RPC system from the unpacked jar. If there is none, as in unit tests, loads it as
   * Flink does.
   *
   * @param settings settings that define the folder into which Flink unpacks the jar
   */
  static Reference<RpcSystem> load(Configuration settings) {
    return Reference.owned(
        unpacked().map(FlinkRpc::load).orElseGet(() -> RpcSystem.load(settings)));
  }

  private static Optional<Path> unpacked() {
    try {
      Path jar = JobJar.own().resolveSibling(JAR).normalize();
      return Optional.of(jar).filter(Files::isRegularFile);
    } catch (IOException noJar) {
      return Optional.empty();
    }
  }

  private static RpcSystem load(Path jar) {
    try {
      ClassLoader loader =
          new SubmoduleClassLoader(
              new URL[] {jar.toUri().toURL()}, FlinkRpc.class.getClassLoader());
      return ServiceLoader.load(RpcSystem.class, loader).findFirst().orElseThrow();
    } catch (MalformedURLException e) {
      throw new IllegalStateException("a path is always a URL", e);
    }
  }
}
