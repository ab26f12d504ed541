// Blocks that configurations of many tests begin with.

/** A pool named `fast`. */
export const fastPool = `resource "gantry_storage_pool" "p" {
  name   = "fast"
  driver = "dir"
}
`;

/** The pool, and a container `web` in it, which ends at once when it is stopped. */
export const webContainer = (more = ''): string => `
${fastPool}resource "gantry_container" "c" {
  name         = "web"
  profiles     = []
  devices      = { root = { type = "disk", path = "/", pool = gantry_storage_pool.p.name } }
  stop_timeout = 0
  ${more}
}
`;
