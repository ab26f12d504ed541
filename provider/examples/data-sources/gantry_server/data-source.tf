data "gantry_server" "this" {}

output "version" {
  value = data.gantry_server.this.version
}
