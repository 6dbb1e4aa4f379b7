-- pci: one row per interval and PCI function, with what was last told of what it is.
SELECT {columns}
FROM role.pci AS pci
LEFT JOIN _pci_told AS pci_configuration
    ON pci_configuration.system = pci.system
    AND pci_configuration.source = pci.source
    AND pci_configuration.function = pci.function
    AND pci_configuration.tod <= pci.interval_end
    AND coalesce(pci.interval_end < pci_configuration.until, true)
