"""z/VM paging: space that guests need and load on the paging volumes."""
