# A pool, a network, a profile, an image from a file, and two containers from it.

terraform {
  required_providers {
    gantry = {
      source = "gantry/gantry"
    }
  }
}

# The address comes from GANTRY_ADDRESS: unix:///var/lib/gantry/unix.socket, for one.
provider "gantry" {}

variable "image" {
  description = "Path of an image file; examples/quickstart/build-image.sh makes one."
  default     = "../quickstart/busybox.tar.gz"
}

variable "memory" {
  default = "64MiB"
}

resource "gantry_storage_pool" "demo" {
  name   = "tfdemo"
  driver = "dir"
}

resource "gantry_network" "demo" {
  name = "tfdemo0"
  config = {
    "ipv4.address" = "10.122.0.1/24"
    "ipv4.nat"     = "true"
    "ipv6.address" = "none"
  }
}

resource "gantry_profile" "demo" {
  name = "tfdemo"
  config = {
    "limits.memory" = var.memory
  }
  devices = {
    root = { type = "disk", path = "/", pool = gantry_storage_pool.demo.name }
    eth0 = { type = "nic", nictype = "bridged", parent = gantry_network.demo.name, name = "eth0" }
  }
}

resource "gantry_image" "busybox" {
  source = { type = "file", file = var.image }
}

resource "gantry_image_alias" "busybox" {
  name   = "tfdemo/busybox"
  target = gantry_image.busybox.fingerprint
}

resource "gantry_container" "app" {
  for_each = toset(["web", "db"])

  name         = "tfdemo-${each.key}"
  source       = provider::gantry::image_reference(gantry_image_alias.busybox.name)
  profiles     = [gantry_profile.demo.name]
  stop_timeout = 3
  files = {
    "/etc/gantry/role" = { content = "${each.key}\n" }
  }
  wait_for = [{ type = "ipv4", nic = "eth0" }]
}

output "addresses" {
  value = { for name, container in gantry_container.app : name => container.ipv4_address }
}
