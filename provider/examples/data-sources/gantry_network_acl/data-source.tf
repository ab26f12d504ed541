data "gantry_network_acl" "web" {
  name = "web"
}
