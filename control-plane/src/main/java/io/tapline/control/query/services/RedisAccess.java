package io.tapline.control.query.services;

import io.tapline.control.JobKey;
import io.tapline.flink.Login;
import io.tapline.flink.results.RedisLibrary;
import io.tapline.schema.RedisAcl;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Manages the Redis users of queries' jobs and the functions that the jobs call. If Redis restarts
 * without them, both are created again within a second or two. Thread-safe.
 *
 * <p>If the control plane itself has no login, there is nothing to do: jobs have none either, and
 * load the functions themselves.
 */
public final class RedisAccess implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(RedisAccess.class);
  private static final long CHECK_MS = 1_000;

  private final boolean needed;
  private final JobKey key;
  private final JedisPool pool;
  private final Set<String> granted = new HashSet<>();

  /** Queries whose users could not be removed yet. */
  private final Set<String> revoked = new HashSet<>();

  private final ScheduledExecutorService checks =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "redis-access");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Creates an instance that manages the job users of one Redis server.
   *
   * @param own login of the control plane; no login if Redis requires none
   * @param key key from which passwords are derived
   * @param pool connections with that login, owned by the caller
   */
  public RedisAccess(Login own, JobKey key, JedisPool pool) {
    this.needed = !own.isNone();
    this.key = key;
    this.pool = pool;
    if (needed) {
      checks.scheduleWithFixedDelay(this::check, CHECK_MS, CHECK_MS, TimeUnit.MILLISECONDS);
    }
  }

  /**
   * Loads the functions if they are missing.
   *
   * @throws JedisException if that fails
   */
  public void prepare(Jedis redis) {
    if (needed) {
      loadIfMissing(redis);
    }
  }

  /**
   * Creates the user of a query's job, or resets its rights and password, and loads this version's
   * functions.
   *
   * @throws JedisException if that fails now; it is retried until {@link #revoke}
   */
  public synchronized void grant(String query) {
    if (!needed) {
      return;
    }
    granted.add(query);
    try (Jedis redis = pool.getResource()) {
      RedisLibrary.load(redis);
      setUser(redis, query);
    }
  }

  /** Returns the login of a query's job. */
  public Login login(String query) {
    return needed ? new Login(RedisAcl.jobUser(query), password(query)) : Login.NONE;
  }

  /** Removes the user of a query's job, now or once Redis answers. */
  public synchronized void revoke(String query) {
    if (!needed) {
      return;
    }
    granted.remove(query);
    revoked.add(query);
    try (Jedis redis = pool.getResource()) {
      removeUsers(redis);
    } catch (JedisException e) {
      LOG.warn("Redis: can't remove user {} yet: {}", RedisAcl.jobUser(query), e.getMessage());
    }
  }

  /** Creates lost users and functions again, and removes revoked users. */
  synchronized void check() {
    if (granted.isEmpty() && revoked.isEmpty()) {
      return;
    }
    try (Jedis redis = pool.getResource()) {
      removeUsers(redis);
      loadIfMissing(redis);
      Set<String> missing = new TreeSet<>(granted);
      Set<String> users = Set.copyOf(redis.aclUsers());
      missing.removeIf(query -> users.contains(RedisAcl.jobUser(query)));
      if (!missing.isEmpty()) {
        missing.forEach(query -> setUser(redis, query));
        LOG.warn("Redis had lost the users of the jobs of {}: created them again", missing);
      }
    } catch (JedisAccessControlException e) {
      LOG.warn("Redis: can't check users: {}", e.getMessage());
    } catch (JedisException e) {
      LOG.debug("Redis: can't check users", e);
    } catch (RuntimeException e) {
      LOG.error("Redis: can't check users", e);
    }
  }

  private void removeUsers(Jedis redis) {
    if (!revoked.isEmpty()) {
      redis.aclDelUser(revoked.stream().map(RedisAcl::jobUser).toArray(String[]::new));
      revoked.clear();
    }
  }

  private static void loadIfMissing(Jedis redis) {
    if (!RedisLibrary.isLoaded(redis)) {
      RedisLibrary.load(redis);
    }
  }

  private void setUser(Jedis redis, String query) {
    String[] rules = RedisAcl.jobRules(query, password(query)).toArray(String[]::new);
    redis.aclSetUser(RedisAcl.jobUser(query), rules);
  }

  private String password(String query) {
    return key.password("redis", query);
  }

  @Override
  public void close() {
    checks.shutdownNow();
  }
}
