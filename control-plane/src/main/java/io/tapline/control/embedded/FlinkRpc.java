package io.tapline.control.embedded;

import io.tapline.control.flink.FlinkSession;
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
 * Flink's remote procedure calls, which have a class loader of their own, since their Scala is
 * another than Kafka's. Flink unpacks their jar of 24 MB at each start; the build has done so once,
 * beside the class path.
 */
final class FlinkRpc {
  private static final String JAR = "../flink-rpc/flink-rpc-akka.jar";

  private FlinkRpc() {}

  /**
   * Loads it from the unpacked jar; as Flink does where there is none, as in unit tests.
   *
   * @param settings say where Flink unpacks it
   */
  static Reference<RpcSystem> load(Configuration settings) {
    return Reference.owned(
        unpacked().map(FlinkRpc::load).orElseGet(() -> RpcSystem.load(settings)));
  }

  private static Optional<Path> unpacked() {
    try {
      Path jar = FlinkSession.ownJar().resolveSibling(JAR).normalize();
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
