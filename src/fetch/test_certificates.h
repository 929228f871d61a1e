// Certificates for tests, made when they are needed: an authority, and what it signs.
#pragma once

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

namespace tessera::fetch {

template <auto kFree>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using TestKey = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using TestX509 = std::unique_ptr<X509, OpensslFree<X509_free>>;

struct TestCertificate {
  TestKey key;
  TestX509 x509;

  std::string pem() const {
    const std::unique_ptr<BIO, OpensslFree<BIO_free>> bio(BIO_new(BIO_s_mem()));
    EXPECT_EQ(PEM_write_bio_X509(bio.get(), x509.get()), 1);
    char* text = nullptr;
    const auto n = BIO_get_mem_data(bio.get(), &text);
    return {text, static_cast<std::size_t>(n)};
  }
};

enum class Validity { kNow, kExpired };

class TestAuthority {
 public:
  TestAuthority() : own_(make("tessera test authority")) {
    extend(own_, NID_basic_constraints, "critical,CA:TRUE");
    sign(own_);
  }

  /// What a client trusts who trusts this authority.
  std::string pem() const { return own_.pem(); }

  /// @param names  as OpenSSL writes them: "DNS:a.example.com"
  TestCertificate issue(const std::string& names, Validity validity = Validity::kNow) const {
    TestCertificate issued = make("tessera test server", validity);
    extend(issued, NID_subject_alt_name, names.c_str());
    sign(issued);
    return issued;
  }

 private:
  static TestCertificate make(const char* name, Validity validity = Validity::kNow) {
    constexpr long kDay = 86'400;  // NOLINT(google-runtime-int): OpenSSL's type
    TestCertificate made{TestKey(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")),
                         TestX509(X509_new())};
    X509* x509 = made.x509.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
    X509_gmtime_adj(X509_getm_notBefore(x509), -2 * kDay);
    X509_gmtime_adj(X509_getm_notAfter(x509), validity == Validity::kNow ? kDay : -kDay);
    X509_set_pubkey(x509, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    return made;
  }

  static void extend(const TestCertificate& certificate, int nid, const char* value) {
    const std::unique_ptr<X509_EXTENSION, OpensslFree<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, nullptr, nid, value));
    EXPECT_EQ(X509_add_ext(certificate.x509.get(), extension.get(), -1), 1);
  }

  void sign(const TestCertificate& certificate) const {
    X509* x509 = certificate.x509.get();
    X509_set_issuer_name(x509, X509_get_subject_name(own_.x509.get()));
    EXPECT_GT(X509_sign(x509, own_.key.get(), EVP_sha256()), 0);
  }

  TestCertificate own_;
};

}  // namespace tessera::fetch
