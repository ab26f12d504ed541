resource "gantry_container_file" "motd" {
  container = "web"
  path      = "/etc/motd"
  content   = "managed by Terraform\n"
}
