resource "gantry_container" "web" {
  name     = "web"
  source   = { type = "image", alias = "debian/12" }
  profiles = ["default"]
  config   = { "limits.memory" = "256MiB" }
  devices = {
    http = { type = "proxy", listen = "tcp:0.0.0.0:8080", connect = "tcp:127.0.0.1:80" }
  }
  files = {
    "/etc/motd" = { content = "managed by Terraform\n" }
  }
  wait_for = [{ type = "ipv4" }]
}
