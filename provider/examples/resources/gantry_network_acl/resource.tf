# A gantry_network uses it: config = { "security.acls" = gantry_network_acl.web.name }
resource "gantry_network_acl" "web" {
  name = "web"
  ingress = [
    { action = "allow", protocol = "tcp", destination_port = "80,443" },
    { action = "drop", state = "logged", source = "192.0.2.0/24" },
  ]
  egress = [
    { action = "allow", destination = "10.0.0.0/8", description = "our own machines" },
  ]
}
